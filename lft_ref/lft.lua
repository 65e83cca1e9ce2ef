-- Shows LFT in Wireshark and tshark: what FORMAT.md leaves in clear, and how often each sequence number was sent.
--
--   tshark -X lua_script:lft_ref/lft.lua -r wan.pcapng -Y 'lft.command == 2'
--
-- It knows the tunnel by UDP port 2004, or on any other port by its first handshake message. Port 4500 is Wireshark's
-- own ESP in UDP: `-d udp.port==4500,lft`. So is IP protocol 50: `-o lft.esp:TRUE`.
-- A capture at the sender shows super-packets: several frames in one datagram. A new frame begins where the same SPI
-- and the next counter stand. Of a datagram that `--snap` has cut, only the frames that begin in the capture are shown.
-- Rejected: the datagram's length divided by the first frame's, because the last frame may be shorter.
local lft = Proto("lft", "Long Fat Tunnel")

local PORT, IP_PROTOCOL = 2004, 50
local HEADER, LEAST = 16, 16 + 4 + 16 -- octets; a frame is header, padded payload and ICV
local DATA, RETRANSMISSION, REDUNDANT = 1, 2, 3
local COMMANDS = {
    [1] = "DATA", [2] = "RETRANSMISSION", [3] = "REDUNDANT", [4] = "ACK", [5] = "REPAIR", [6] = "PROBE",
    [7] = "PROBE-REPLY", [8] = "CLOSE",
}
local MESSAGES = { [1] = "INIT", [2] = "COOKIE", [3] = "RESPONSE" }
local CIPHERS = {
    [1] = "aes-128-gcm", [2] = "aes-256-gcm", [3] = "chacha20-poly1305", [4] = "3des-cbc", [5] = "null",
}
-- by enum lft_recovery, written by tools/key-rows
local RECOVERIES = { [0] = "gbn-strict", [1] = "gbn", [2] = "selective", [3] = "fec" }

local field = {
    spi = ProtoField.uint32("lft.spi", "SPI", base.HEX),
    command = ProtoField.uint8("lft.command", "Command", base.DEC, COMMANDS),
    number = ProtoField.uint24("lft.number", "LFT number", base.DEC),
    counter = ProtoField.uint64("lft.counter", "Counter", base.DEC),
    encrypted = ProtoField.bytes("lft.encrypted", "Encrypted payload"),
    icv = ProtoField.bytes("lft.icv", "ICV"),
    length = ProtoField.uint32("lft.length", "Frame length", base.DEC),
    transmission = ProtoField.uint32("lft.transmission", "Transmission of this number", base.DEC),
    first = ProtoField.framenum("lft.first", "Sent first in", base.NONE, frametype.RETRANS_PREV),
    after = ProtoField.relative_time("lft.after", "Time since it was sent first"),
    version = ProtoField.uint8("lft.version", "Version", base.DEC),
    message = ProtoField.uint8("lft.message", "Message", base.DEC, MESSAGES),
    cipher = ProtoField.uint8("lft.cipher", "Cipher", base.DEC, CIPHERS),
    recovery = ProtoField.uint8("lft.recovery", "Recovery", base.DEC, RECOVERIES),
    ephemeral = ProtoField.bytes("lft.ephemeral", "Ephemeral public key"),
    sealed = ProtoField.bytes("lft.sealed", "Sealed"),
    mac1 = ProtoField.bytes("lft.mac1", "MAC 1"),
    mac2 = ProtoField.bytes("lft.mac2", "MAC 2"),
    answered = ProtoField.bytes("lft.answered_mac1", "MAC 1 of the INIT that this answers"),
    nonce = ProtoField.bytes("lft.nonce", "Nonce"),
    keepalive = ProtoField.none("lft.keepalive", "NAT keep-alive"),
}
lft.fields = field

local damaged = ProtoExpert.new("lft.damaged", "Too short or of unknown type", expert.group.MALFORMED, expert.severity.ERROR)
local cut = ProtoExpert.new("lft.cut", "The capture has only the beginning", expert.group.UNDECODED, expert.severity.NOTE)
lft.experts = { damaged, cut }
lft.prefs.esp = Pref.bool("Take IP protocol 50 as LFT", false, "For the carriage esp; off, it is Wireshark's own ESP")

-- Fields of each message: field, offset, octets (FORMAT.md, "Messages").
local LAYOUTS = {
    [1] = { { "ephemeral", 12, 32 }, { "sealed", 44, 44 }, { "mac1", 88, 16 }, { "mac2", 104, 16 } },
    [2] = { { "answered", 12, 16 }, { "nonce", 28, 16 }, { "sealed", 44, 40 } },
    [3] = { { "answered", 12, 16 }, { "ephemeral", 28, 32 }, { "sealed", 60, 36 }, { "mac1", 96, 16 } },
}
local LENGTHS = { [1] = 120, [2] = 84, [3] = 112 }

local clock = Field.new("frame.time_epoch") -- pinfo.abs_ts is a floating-point number, right to 0.2 µs only

-- What the first pass over a capture found: one entry for each sequence number of a sender's SPI.
local senders, transmissions

function lft.init()
    senders, transmissions = {}, {}
end

-- The 24-bit number with 64 bits: the one nearest to the largest so far (FORMAT.md, "Number space").
local function unwrapped(sender, number)
    local behind = (sender.largest - number) % 0x1000000
    local found = behind < 0x800000 and sender.largest - behind or sender.largest + 0x1000000 - behind
    sender.largest = math.max(sender.largest, found)
    return found
end

-- Counts a transmission on the first pass; later passes look it up by frame and counter.
local function transmission_of(pinfo, spi, command, number, counter)
    local key = pinfo.number .. "/" .. counter
    if not transmissions[key] and not pinfo.visited then
        local name = tostring(pinfo.src) .. "/" .. spi
        senders[name] = senders[name] or { largest = number, sent = {} }
        local whole = unwrapped(senders[name], number)
        local sent = senders[name].sent[whole] or { count = 0, frame = pinfo.number, time = clock().value }
        sent.count = sent.count + 1
        senders[name].sent[whole] = sent
        transmissions[key] = { count = sent.count, frame = sent.frame, time = sent.time }
    end
    return transmissions[key]
end

local function add_transmission(tree, found)
    tree:add(field.transmission, found.count):set_generated()
    if found.count > 1 then
        tree:add(field.first, found.frame):set_generated()
        tree:add(field.after, clock().value - found.time):set_generated()
    end
end

local function add_payload(buffer, branch, whole)
    local length = buffer:len()
    if not whole then
        branch:add_proto_expert_info(cut)
        return
    end
    branch:add(field.encrypted, buffer(HEADER, length - LEAST + 4))
    branch:add(field.icv, buffer(length - 16, 16))
    branch:add(field.length, length):set_generated()
end

-- One frame, of which the capture has the whole or the beginning. Returns its line for the packet list.
local function add_frame(buffer, pinfo, tree, whole)
    local spi, command, number = buffer(0, 4), buffer(4, 1):uint(), buffer(5, 3):uint()
    local counter = tostring(buffer(8, 8):uint64())
    local name = COMMANDS[command] or ("command " .. command)
    local branch = tree:add(lft, buffer(), ("Long Fat Tunnel, %s %d"):format(name, number))
    branch:add(field.spi, spi)
    branch:add(field.command, buffer(4, 1))
    branch:add(field.number, buffer(5, 3))
    branch:add(field.counter, buffer(8, 8))
    add_payload(buffer, branch, whole)
    local again = ""
    if command >= DATA and command <= REDUNDANT then
        local found = transmission_of(pinfo, spi:uint(), command, number, counter)
        if found then
            add_transmission(branch, found)
            again = found.count > 1 and (" (transmission %d)"):format(found.count) or ""
        end
    end
    return ("%s %d%s"):format(name, number, again)
end

-- Where the frame at the buffer's start ends: at the next one with the same SPI and the next counter, or at the end.
local function frame_end(buffer)
    local spi, counter = buffer(0, 4):uint(), buffer(8, 8):uint64()
    for at = LEAST, buffer:len() - HEADER, 2 do
        if buffer(at, 4):uint() == spi and buffer(at + 8, 8):uint64() == counter + 1 then
            return at
        end
    end
    return buffer:len()
end

local function add_frames(buffer, pinfo, tree)
    local lines, at, whole = {}, 0, buffer:len() == buffer:reported_len()
    while buffer:len() - at >= HEADER do
        local rest = buffer(at):tvb()
        local length = frame_end(rest)
        local last = at + length == buffer:len()
        lines[#lines + 1] = add_frame(rest(0, length):tvb(), pinfo, tree, whole or not last)
        at = at + length
    end
    pinfo.cols.info = table.concat(lines, ", ")
end

local function add_message(buffer, pinfo, tree)
    local type = buffer(8, 1):uint()
    local branch = tree:add(lft, buffer(), "Long Fat Tunnel, " .. (MESSAGES[type] or "unknown message"))
    branch:add(field.version, buffer(7, 1))
    branch:add(field.message, buffer(8, 1))
    branch:add(field.cipher, buffer(9, 1))
    branch:add(field.recovery, buffer(10, 1))
    pinfo.cols.info = MESSAGES[type] or ("message of type " .. type)
    if LENGTHS[type] ~= buffer:len() then
        branch:add_proto_expert_info(LENGTHS[type] == buffer:reported_len() and cut or damaged)
        return
    end
    for _, part in ipairs(LAYOUTS[type]) do
        branch:add(field[part[1]], buffer(part[2], part[3]))
    end
end

local function is_message(buffer)
    return buffer:len() >= 12 and buffer(0, 4):uint() == 0 and buffer(4, 3):string() == "LFT"
end

function lft.dissector(buffer, pinfo, tree)
    pinfo.cols.protocol = "LFT"
    if is_message(buffer) then
        add_message(buffer, pinfo, tree)
    elseif buffer:len() == 1 and buffer(0, 1):uint() == 0xff then
        tree:add(lft, buffer(), "Long Fat Tunnel"):add(field.keepalive, buffer())
        pinfo.cols.info = "NAT keep-alive"
    elseif buffer:reported_len() >= LEAST and buffer:len() >= HEADER and buffer(0, 4):uint() >= 256 then
        add_frames(buffer, pinfo, tree)
    else
        tree:add(lft, buffer(), "Long Fat Tunnel"):add_proto_expert_info(damaged)
        pinfo.cols.info = "damaged"
    end
    return buffer:len()
end

-- On a port that nobody told us, the first handshake message makes the conversation ours.
local function heuristic(buffer, pinfo, tree)
    if not is_message(buffer) then
        return false
    end
    pinfo.conversation = lft
    lft.dissector(buffer, pinfo, tree)
    return true
end

local ip_protocols, taken = DissectorTable.get("ip.proto"), false

function lft.prefs_changed()
    if lft.prefs.esp == taken then
        return
    end
    taken = lft.prefs.esp
    local change = taken and ip_protocols.add or ip_protocols.remove
    change(ip_protocols, IP_PROTOCOL, lft)
end

DissectorTable.get("udp.port"):add(PORT, lft)
lft:register_heuristic("udp", heuristic)
