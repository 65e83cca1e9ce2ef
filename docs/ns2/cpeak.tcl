# cpeak-1998 in the simulator it used, ns-2 (Debian package ns2 2.35): `ns cpeak.tcl KEY=VALUE…`. The results are in
# docs/explanation/cpeak.md.
#
# One bottleneck, one or two flows, SACK as ns had it (Agent/TCP/Sack1). The proposal needs no C++: in congestion
# avoidance ns adds increase_num_ / cwnd_ for each ACK, so this script writes the paper's A B C + D into increase_num_
# every `poll` seconds. c_peak is the window just before a cut. `kind` and `second` are sack or cpeak; windows are in
# segments. The defaults are those of 1998: one segment to start with, no limited transmit.
array set o {
  kind sack second "" start2 0 window 128 rate 36 delay 29.5 queue 50 size 4096 access 1000 time 30
  agent Sack1 sink Sack1 tick 0.1 minrto 0 iw 1 limited 0 bugfix true maxcwnd 0 poll 0.0005
}
foreach argument $argv {
  if {![regexp {^(\w+)=(.*)$} $argument - key value] || ![info exists o($key)]} {
    puts stderr "cpeak.tcl: $argument: not KEY=VALUE with KEY of [lsort [array names o]]"
    exit 2
  }
  set o($key) $value
}

set ns [new Simulator]
set near [$ns node]
set far [$ns node]
$ns duplex-link $near $far $o(rate)Mb $o(delay)ms DropTail
$ns queue-limit $near $far $o(queue)
$ns queue-limit $far $near 10000
Agent/TCP set useHeaders_ false

proc flow {kind start id} {
  global ns near far o tcp peak cuts last
  set sender [$ns node]
  set receiver [$ns node]
  $ns duplex-link $sender $near $o(access)Mb 0.01ms DropTail
  $ns duplex-link $far $receiver $o(access)Mb 0.01ms DropTail
  $ns queue-limit $sender $near 100000
  set agent [new [string trimright Agent/TCP/$o(agent) /]]
  set sink [new [string trimright Agent/TCPSink/$o(sink) /]]
  foreach {name value} [list window_ $o(window) packetSize_ $o(size) tcpTick_ $o(tick) minrto_ $o(minrto) \
      windowInitOption_ 1 windowInit_ $o(iw) singledup_ $o(limited) bugFix_ $o(bugfix) maxcwnd_ $o(maxcwnd)] {
    $agent set $name $value
  }
  $ns attach-agent $sender $agent
  $ns attach-agent $receiver $sink
  $ns connect $agent $sink
  set ftp [new Application/FTP]
  $ftp attach-agent $agent
  $ns at $start "$ftp start"
  array set tcp [list $id $agent]
  array set peak [list $id 0]
  array set cuts [list $id 0]
  array set last [list $id 0]
  if {$kind eq "cpeak"} { $ns at $start "grow $id" }
}

# increase_num_ for the window as it is now.
proc grow {id} {
  global ns o tcp peak cuts last
  set w [$tcp($id) set cwnd_]
  if {[$tcp($id) set ncwndcuts_] > $cuts($id)} {
    set cuts($id) [$tcp($id) set ncwndcuts_]
    set peak($id) $last($id)
  }
  if {$peak($id)} {
    set p $peak($id)
    set a [expr {min(1.0, abs($w - $p / 2.0) / $w)}]
    set b [expr {min(1.0, abs($p - $w) / $w)}]
    $tcp($id) set increase_num_ [expr {$a * $b * $p / 2.0 + 1}]
  }
  set last($id) $w
  $ns at [expr {[$ns now] + $o(poll)}] "grow $id"
}

proc finish {} {
  global o tcp
  foreach id [lsort [array names tcp]] {
    set agent $tcp($id)
    puts [format "flow %d: %.1f Mbit/s, %d segments sent again, %d time-outs, window cut %d times" $id \
        [expr {[$agent set ack_] * $o(size) * 8 / $o(time) / 1e6}] [$agent set nrexmitpack_] [$agent set nrexmit_] \
        [$agent set ncwndcuts_]]
  }
  exit 0
}

flow $o(kind) 0 1
if {$o(second) ne ""} { flow $o(second) $o(start2) 2 }
$ns at $o(time) finish
$ns run
