-- Makes columns and filters in Wireshark and tshark of what `pktlogger record` wrote as comments of packets.
--
--   tshark -X lua_script:pktlogger/record.lua -r box.pcapng -Y comet.dropped -T fields -e frame.number -e comet.cause
--
-- FORMAT.md, section 6, has the comments. Packets without one of them get no fields.
local comet = Proto("comet", "Delay box's record")

local field = {
    dropped = ProtoField.bool("comet.dropped", "Dropped"),
    cause = ProtoField.string("comet.cause", "Cause of the drop"),
    behind = ProtoField.bool("comet.behind", "Dropped behind the bottleneck"),
    held = ProtoField.bool("comet.held", "In the box when the record ended"),
    edited = ProtoField.string("comet.edited", "Edited"),
}
comet.fields = field

local BEHIND = " behind the bottleneck"
local comment = Field.new("frame.comment")

local function add(tree, text)
    local cause = text:match("^dropped: (.*)$")
    local edited = text:match("^(corrupted): ") or text:match("^(forged): ")
    if cause then
        local behind = cause:sub(-#BEHIND) == BEHIND
        tree:add(field.dropped, true)
        tree:add(field.cause, behind and cause:sub(1, -#BEHIND - 1) or cause)
        tree:add(field.behind, behind)
    elseif edited then
        tree:add(field.edited, edited)
    elseif text == "in the box when the record ended" then
        tree:add(field.held, true)
    end
end

function comet.dissector(_, _, tree)
    local found = comment()
    if not found then
        return
    end
    local text = found.value
    if text:match("^dropped: ") or text:match("^corrupted: ") or text:match("^forged: ") or text:match("^in the box") then
        add(tree:add(comet):set_generated(), text)
    end
end

register_postdissector(comet)
