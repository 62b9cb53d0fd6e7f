/** The look of a report, in light and dark. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --surface: #fcfcfb; --card: #ffffff; --border: #e4e3df;
  --ink: #17181a; --muted: #62666d; --faint: #b9bcc2; --grid: #ececea;
  --accent: #2a78d6; --second: #d95926; --bad: #cc3344;
  --first-run: #9cc5f4; --last-run: #0d3a73;
}
@media (prefers-color-scheme: dark) {
  :root {
    --surface: #16171a; --card: #1d1f23; --border: #2f3238;
    --ink: #eceef1; --muted: #a0a6b0; --faint: #5a606a; --grid: #2a2d33;
    --accent: #5a9ff0; --second: #f0885a; --bad: #f06272;
    --first-run: #2c5c96; --last-run: #c4e0ff;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 1240px; padding: 32px 24px 64px;
  background: var(--surface); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
h1 { font-size: 24px; margin: 0 0 4px; }
h2 { font-size: 17px; margin: 36px 0 12px; }
.facts { color: var(--muted); margin: 0; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(240px, 1fr)); gap: 12px; margin: 24px 0 0; padding: 0; }
.tiles div, figure, .table { background: var(--card); border: 1px solid var(--border); border-radius: 8px; }
.tiles div { padding: 12px 14px; }
.tiles dt { color: var(--muted); font-size: 13px; }
.tiles dd { margin: 2px 0 0; font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tiles small { font-size: 13px; font-weight: 400; color: var(--muted); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(340px, 1fr)); gap: 12px; }
.plots.pair { grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); }
figure { margin: 0; padding: 14px 14px 8px; min-width: 0; display: flex; flex-direction: column; }
figcaption { font-weight: 600; font-size: 14px; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 4px 0 6px; padding: 0; color: var(--muted); font-size: 13px; }
.key { display: inline-block; width: 18px; margin-right: 6px; vertical-align: middle; }
.key.tokens { height: 10px; background: repeating-linear-gradient(90deg, var(--accent) 0 1.5px, transparent 1.5px 4px); }
.key.failed { border-top: 2px solid var(--bad); }
svg { display: block; width: 100%; height: auto; margin-top: auto; }
svg text { font: 11.5px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--muted); }
svg .tick { font-variant-numeric: tabular-nums; }
svg .grid { stroke: var(--grid); stroke-width: 1; }
svg .axis { stroke: var(--faint); stroke-width: 1; }
svg .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
svg .marker { stroke: var(--muted); stroke-width: 1; stroke-dasharray: 2 3; }
svg .marker-label { fill: var(--ink); }
svg .waiting { stroke: var(--faint); stroke-width: 1.5; }
svg .waiting.failed { stroke: var(--bad); }
svg .disk { fill: var(--accent); fill-opacity: 0.25; stroke: var(--accent); stroke-width: 1.5; }
svg .disk.hollow { fill: none; stroke-dasharray: 3 3; }
svg .token { stroke: var(--accent); stroke-width: 1; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 14px; }
th, td { padding: 7px 14px; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { color: var(--muted); font-weight: 500; font-size: 13px; }
tbody tr { border-top: 1px solid var(--border); }
.notes { color: var(--muted); font-size: 13px; margin: 12px 0 0; }
.errors { color: var(--bad); }
`;
