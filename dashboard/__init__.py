"""Looking at runs: a Plotly Dash application and a self-contained HTML report.

Rooms, each of which uses only those to its right: cli → server, report → a room for each page → timeline → core. No
page uses another one. Figures, tables and facts are modules apart from the page's own, without Dash, so that the report
shows them too. `live` asks running tools, and knows no run.
"""
