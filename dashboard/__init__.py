"""Looking at runs: a Plotly Dash application and a self-contained HTML report.

Four layers, arrows one way: app and report → figures → sweep/timeline (numpy) → data (files). The data layers know no
Plotly, the figure layer does no I/O and knows no Dash.
"""
