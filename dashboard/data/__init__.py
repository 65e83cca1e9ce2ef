"""Run directories, and the packets of one captured trial, as Python objects; no Plotly, no Dash."""
