"""Pages of the dashboard, one file a page: `page(…)` makes its layout, `register(app, …)` its callbacks."""
