// `serve` echoes what comes; `send HOST` sends 2 MB, reads them back and says how long that took.
use std::io::{copy, sink, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::{env, thread, time::Instant};

const PORT: u16 = 7000;
const SIZE: usize = 2_000_000;

fn serve() -> std::io::Result<()> {
    for peer in TcpListener::bind(("::", PORT))?.incoming() {
        let peer = peer?;
        thread::spawn(move || copy(&mut &peer, &mut &peer).and_then(|_| peer.shutdown(Shutdown::Write)));
    }
    Ok(())
}

fn send(host: &str) -> std::io::Result<()> {
    let began = Instant::now();
    let peer = TcpStream::connect((host, PORT))?;
    let writer = peer.try_clone()?;
    thread::spawn(move || (&writer).write_all(&vec![0; SIZE]).and_then(|_| writer.shutdown(Shutdown::Write)));
    let came = copy(&mut &peer, &mut sink())?;
    println!("{came} bytes in {:?}", began.elapsed());
    Ok(())
}

fn main() -> std::io::Result<()> {
    let words: Vec<String> = env::args().collect();
    if words[1] == "serve" { serve() } else { send(&words[2]) }
}
