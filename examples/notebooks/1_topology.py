# ---
# jupyter: {jupytext: {text_representation: {format_name: percent}}}
# ---

# %% [markdown]
# # Two host pairs over one bottleneck
#
# A scenario has the tables of a scenario file. `[transfer]` is the first flow. Each `[flow.NAME]` is another flow next
# to it, here from hosts of its own. Everything runs in virtual time, so the figures do not depend on this machine.

# %%
import plotly.graph_objects as go

import lfp

scenario = lfp.Scenario(
    scenario={"name": "two-pairs"},
    path={"delay": "5ms", "rate": "20Mbit", "queue": "60KB"},
    transfer={"duration": "500ms", "congestion": "cubic", "interval": "50ms"},
    flow={"second": {"pair": 2, "congestion": "reno", "start": "100ms"}},
    capture={"points": ["snd", "rcv"]},
    run={"seed": 1},
).set("transfer.window", ["16KB", "64KB"])
print(scenario.explain())

# %% [markdown]
# ## Run it
# The results have a row for each trial and flow. `flow_share` is over the time in which both run, as the receivers
# counted it in intervals of 50 ms.

# %%
run = scenario.run(runs_dir="runs")
rows = run.results().to_pylist()
for row in rows:
    print(row["trial"], row["window_bytes"], row["flow_name"], row["beside"], round(row["flow_share"], 2))

# %% [markdown]
# ## Shares of the bottleneck

# %%
shares = go.Figure()
for name in ("main", "second"):
    own = [row for row in rows if row["flow_name"] == name]
    windows = [f"{row['window_bytes'] // 1024} KB" for row in own]
    shares.add_bar(name=name, x=windows, y=[row["flow_share"] for row in own])
shares.update_layout(barmode="stack", xaxis_title="window", yaxis_title="share of the throughput")
shares
