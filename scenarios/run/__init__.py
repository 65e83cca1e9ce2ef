"""Many trials: the runner, run directories, results, and the machine that they run on."""
