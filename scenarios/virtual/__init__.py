"""Virtual time: trials in user-mode Linux whose clock jumps from event to event (docs/explanation/virtual-time.md)."""
