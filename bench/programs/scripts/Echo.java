// `serve` echoes what comes; `send HOST` sends 2 MB, reads them back and says how long that took.
import java.io.IOException;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;

class Echo {
    static final int PORT = 7000, SIZE = 2_000_000;

    static void serve() throws IOException {
        try (ServerSocket listener = new ServerSocket(PORT)) {
            while (true) {
                Socket peer = listener.accept();
                new Thread(() -> echo(peer)).start();
            }
        }
    }

    static void echo(Socket peer) {
        try (peer) {
            peer.getInputStream().transferTo(peer.getOutputStream());
        } catch (IOException gone) {
            System.err.println(gone);
        }
    }

    static void write(Socket peer) {
        try {
            peer.getOutputStream().write(new byte[SIZE]);
            peer.shutdownOutput();
        } catch (IOException gone) {
            System.err.println(gone);
        }
    }

    static void send(String host) throws IOException {
        long began = System.nanoTime();
        try (Socket peer = new Socket(host, PORT)) {
            new Thread(() -> write(peer)).start();
            long came = peer.getInputStream().transferTo(OutputStream.nullOutputStream());
            System.out.printf("%d bytes in %.3f ms%n", came, (System.nanoTime() - began) / 1e6);
        }
    }

    public static void main(String[] words) throws IOException {
        if (words[0].equals("serve")) serve();
        else send(words[1]);
    }
}
