// replaced by the widget builder
