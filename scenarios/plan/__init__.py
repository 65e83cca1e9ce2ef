"""What is to be measured: scenario files, the model, the list of trials, and the names of settings. No I/O but reading
files."""
