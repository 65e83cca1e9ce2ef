# ---
# jupyter: {jupytext: {text_representation: {format_name: percent}}}
# ---

# %% [markdown]
# # Two settings compared
#
# `lfp compare` judges by a rank test (`lfp compare --by transfer.window last`). This is the same data by hand:
# quantiles of the round-trip time that the sender's TCP saw, with either window.

# %%
import numpy as np
import plotly.graph_objects as go

import lfp

run = lfp.load("last", runs_dir="runs")
samples = run.table("tcp_info")  # of all trials, with a column `trial`
windows = {trial.number: trial.params["window_bytes"] for trial in run.trials}

# %%
quantiles = np.linspace(0, 1, 101)
figure = go.Figure()
for number, window in windows.items():
    rtt = samples.filter(np.equal(samples["trial"].to_numpy(), number))["rtt_us"].to_numpy() / 1e3
    figure.add_scatter(x=np.quantile(rtt[rtt > 0], quantiles), y=quantiles, name=f"{window // 1024} KB")
figure.update_layout(xaxis_title="RTT, ms", yaxis_title="share of samples")
figure
