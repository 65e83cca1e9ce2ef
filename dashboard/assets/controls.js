/* The controls of dashboard/core/controls.py, as what browsers have: a select, a slider, and radio buttons or checkboxes in a
   fieldset. Keyboard, labels and screen readers need nothing else. A value is known by its option's number, so that it
   keeps its type. */
(() => {
  const make = (...given) => window.React.createElement(...given);

  function Select({ id, options, value, setProps }) {
    const now = options.findIndex(one => one.value === value);
    const shown = options.map((one, number) => make("option", { key: number, value: number }, one.label));
    if (now < 0) shown.unshift(make("option", { key: -1, value: -1, hidden: true }));
    return make("select", { id, value: now, onChange: event => setProps({ value: options[event.target.value].value }) },
                ...shown);
  }

  const group = (type, isOn, changed) => ({ id, legend, options, value, setProps }) => make(
    "fieldset", { id, className: "choice" }, make("legend", null, legend),
    ...options.map((one, number) => make(
      "label", { key: number },
      make("input", { type, name: id, checked: isOn(value, one.value),
                      onChange: () => setProps({ value: changed(value, one.value) }) }), " ", one.label)));

  /* One of many in order, which arrows, Page Up and Page Down, Home and End move. */
  function Slider({ id, options, value, setProps }) {
    const now = Math.max(0, options.findIndex(one => one.value === value)), label = options[now].label;
    return make("div", { className: "slider" },
                make("input", { id, type: "range", min: 0, max: options.length - 1, step: 1, value: now,
                                "aria-valuetext": label,
                                onChange: event => setProps({ value: options[event.target.value].value }) }),
                make("output", { htmlFor: id }, label));
  }

  window.lfp_controls = {
    Select, Slider,
    Radios: group("radio", (value, own) => value === own, (_, own) => own),
    Checks: group("checkbox", (value, own) => value.includes(own),
                  (value, own) => value.includes(own) ? value.filter(one => one !== own) : [...value, own]),
  };
})();
