# ---
# jupyter: {jupytext: {text_representation: {format_name: percent}}}
# ---

# %% [markdown]
# # A heat map of a sweep
#
# Any two settings make the axes, any measured column the colour.

# %%
import numpy as np
import plotly.graph_objects as go

import lfp

results = lfp.load("last", runs_dir="runs").results(valid_only=True)
x, y = results["window_bytes"].to_numpy(), np.array(results["flow_name"].to_pylist())
columns, rows = np.unique(x), np.unique(y)

# %%
grid = np.full((rows.size, columns.size), np.nan)
grid[np.searchsorted(rows, y), np.searchsorted(columns, x)] = results["short_term_bps"].to_numpy() / 1e6
heat = go.Figure(go.Heatmap(x=[f"{value // 1024} KB" for value in columns], y=rows, z=grid, colorbar_title="Mbit/s"))
heat.update_layout(xaxis_title="window", yaxis_title="flow")
heat
