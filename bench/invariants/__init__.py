"""The bench that draws settings at random and checks what must hold in any trial."""
