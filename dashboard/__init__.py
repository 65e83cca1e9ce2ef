"""Looking at runs: a Plotly Dash application and a self-contained HTML report.

Rooms, each of which uses only those to its right: app and report → pages → figures, content → results → data. `data`
reads files, `results` computes with all trials of a run, and neither knows Plotly. `figures` draws without I/O and
without Dash. `content` has tables and facts as plain strings. `live` asks running tools, and knows no run.
"""
