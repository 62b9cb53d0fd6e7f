/** The rules of deploy/prometheus, as the Prometheus operator takes them. */
import { parse, stringify } from 'yaml';

export const RULES_MANIFEST = 'deploy/kubernetes/monitoring/rules.yaml';

/**
 * @param rules a rule file of Prometheus
 * @param runbooks address of the repository's files, for people who are woken up; undefined for paths alone
 * @throws TypeError for what is no address
 */
export function prometheusRule(rules: string, runbooks?: string): string {
  const manifest = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'chairlift' },
    spec: parse(runbooks === undefined ? rules : withRunbooks(rules, runbooks)) as unknown,
  };
  return `# Written by scripts/prometheus/write.ts from deploy/prometheus/rules.yaml.\n${stringify(manifest, { lineWidth: 0 })}`;
}

function withRunbooks(rules: string, runbooks: string): string {
  const base = new URL(runbooks.endsWith('/') ? runbooks : `${runbooks}/`);
  return rules.replaceAll(
    /(\brunbook_url: )(\S+)/g,
    (_, key: string, path: string) => key + new URL(path, base).href,
  );
}
