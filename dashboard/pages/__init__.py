"""The pages of the dashboard, one file each: `page(…)` makes the layout, `register(app, …)` registers the callbacks."""
