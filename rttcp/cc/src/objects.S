/* The BPF objects, embedded unchanged in rttcp's constants. This is an assembler file, because link-time optimisation loses
 * symbols that are made in inline assembly. */
    .section .rodata
    .macro object name
    .balign 8
    .globl lfp_\name\()_object, lfp_\name\()_object_end
lfp_\name\()_object:
    .incbin "lfp_\name\().o"
lfp_\name\()_object_end:
    .endm

    object cpeak
    object fast
    object hstcp
    object htcp
    object scalable
    object xys
    object xys_tx_start

    .section .note.GNU-stack, "", %progbits
