/** Parts of a Grafana dashboard (schema 39, Grafana 10.4 and newer), as the JSON model has them. */

/** A line of a panel: a query in PromQL and what the legend calls it. */
export type Query = readonly [expr: string, legend: string];

export interface PanelSpec {
  readonly title: string;
  readonly type?: 'timeseries' | 'stat' | 'heatmap';
  /** As Grafana names units: `s`, `short`, `percentunit`, `reqps`, `bytes`. */
  readonly unit?: string;
  /** Share of 24 columns. */
  readonly width?: number;
  readonly queries: readonly Query[];
}

export interface Dashboard {
  readonly file: string;
  readonly title: string;
  readonly panels: readonly PanelSpec[];
}

const COLUMNS = 24;
const HEIGHT = 8;
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' } as const;

/** Selection of servers and models that is shown; also in the dashboards' menus. */
export const SELECTED = 'job=~"$job",instance=~"$instance",model_name=~"$model"';
/** The same for metrics that are of no model. */
export const SELECTED_SERVER = 'job=~"$job",instance=~"$instance"';

/** Events of a counter in a second. */
export function rate(metric: string, by: string, more = ''): string {
  return `sum by (${by}) (rate(${metric}{${SELECTED}${more}}[$__rate_interval]))`;
}

/** The same of a counter that no model has. */
export function serverRate(metric: string, by: string): string {
  return `sum by (${by}) (rate(${metric}{${SELECTED_SERVER}}[$__rate_interval]))`;
}

/** p50, p95 and p99 of a histogram. */
export function quantiles(histogram: string): Query[] {
  return [0.5, 0.95, 0.99].map((quantile) => [
    `histogram_quantile(${quantile}, ${rate(`${histogram}_bucket`, 'le')})`,
    `p${quantile * 100}`,
  ]);
}

/** Grafana's JSON model of a dashboard. */
export function toGrafana({ file, title, panels }: Dashboard) {
  return {
    uid: `chairlift-${file}`,
    title,
    tags: ['chairlift'],
    schemaVersion: 39,
    editable: true,
    refresh: '10s',
    time: { from: 'now-1h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus' },
        variable('job', 'label_values(chairlift_num_requests_running, job)'),
        variable('instance', 'label_values(chairlift_num_requests_running{job=~"$job"}, instance)'),
        variable('model', 'label_values(chairlift_num_requests_running{job=~"$job"}, model_name)'),
      ],
    },
    panels: layOut(panels),
  };
}

function variable(name: string, query: string) {
  return {
    name,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: name },
    refresh: 2,
    multi: true,
    includeAll: true,
    current: { text: 'All', value: '$__all' },
  };
}

/** From left to right, then the next row. */
function layOut(panels: readonly PanelSpec[]) {
  let [x, y] = [0, 0];
  return panels.map(({ title, type = 'timeseries', unit = 'short', width = 8, queries }, index) => {
    if (x + width > COLUMNS) [x, y] = [0, y + HEIGHT];
    const gridPos = { x, y, w: width, h: HEIGHT };
    x += width;
    return {
      id: index + 1,
      type,
      title,
      datasource: DATASOURCE,
      gridPos,
      fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
      options: type === 'heatmap' ? { calculate: false, yAxis: { unit } } : {},
      targets: queries.map(([expr, legendFormat], number) => ({
        refId: String.fromCharCode(65 + number),
        datasource: DATASOURCE,
        expr,
        legendFormat,
        format: type === 'heatmap' ? 'heatmap' : 'time_series',
      })),
    };
  });
}
