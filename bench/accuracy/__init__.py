"""The parts of delay.accuracy: what is measured outside the box, and what theory allows."""
