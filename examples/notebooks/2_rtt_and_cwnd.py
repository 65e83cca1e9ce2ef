# ---
# jupyter: {jupytext: {text_representation: {format_name: percent}}}
# ---

# %% [markdown]
# # Round-trip time and congestion window of one trial
#
# All tables of a trial share one time axis: nanoseconds since its transfer began to connect.

# %%
from plotly.subplots import make_subplots

import lfp

trial = lfp.load("last", runs_dir="runs").trials[-1]
print(trial.tables)

# %%
samples = trial.table("tcp_info")
second = trial.table("flows/second/tcp_info")
segments = trial.table("segments")  # of the connection that carried the data
print(segments["kind"].unique())  # names, not numbers

# %%
figure = make_subplots(rows=3, shared_xaxes=True, subplot_titles=("RTT, ms", "cwnd, segments", "sequence number, KB"))
for name, table in (("main", samples), ("second", second)):
    seconds = table["t_ns"].to_numpy() / 1e9
    figure.add_scatter(row=1, col=1, x=seconds, y=table["rtt_us"].to_numpy() / 1e3, name=f"{name}: RTT")
    figure.add_scatter(row=2, col=1, x=seconds, y=table["snd_cwnd"].to_numpy(), name=f"{name}: cwnd")
sent = segments["t_sent_ns"].to_numpy() / 1e9
figure.add_scatter(row=3, col=1, x=sent, y=segments["seq"].to_numpy() / 1024, name="main: sent", mode="markers")
figure
