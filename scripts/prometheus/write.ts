/**
 * Writes deploy/kubernetes/monitoring/rules.yaml: `npx tsx scripts/prometheus/write.ts && npm run format`.
 * With `--runbooks https://git.example/chairlift/blob/main` alerts link to the runbook there; without, to
 * its path in this repository.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { prometheusRule, RULES_MANIFEST } from './prometheus-rule.ts';

const { values } = parseArgs({ options: { runbooks: { type: 'string' } } });
const rules = readFileSync('deploy/prometheus/rules.yaml', 'utf8');
writeFileSync(RULES_MANIFEST, prometheusRule(rules, values.runbooks));
