/** Service classes, as --slo gives them. */
import { parse } from 'yaml';
import { z } from 'zod';
import { explainZod } from '../../explain-zod.ts';
import {
  type GivenClass,
  serviceClasses,
  type ServiceClasses,
} from '../../front/service-classes/service-class.ts';
import { UsageError } from '../../settings/usage-error.ts';
import { readNamed } from '../../files/named-files.ts';
import { reasonOf } from '../../files/system-error.ts';

const NAME = /^[\w.-]{1,64}$/;
const name = z.string().regex(NAME, 'expected a name of letters, digits and any of . _ -');
const milliseconds = z.number().positive().nullable();

const givenClass = z.strictObject({
  service_tier: z.union([name.transform((one) => [one]), z.array(name)]).optional(),
  priority: z.int().min(-1000).max(10_000).optional(),
  ttft_ms: milliseconds.optional(),
  itl_ms: milliseconds.optional(),
  deadline_ms: milliseconds.optional(),
  share: z.number().gt(0).max(1).optional(),
});

const sloFile = z.strictObject({
  default: name.optional(),
  best: name.optional(),
  classes: z.record(name, givenClass).optional(),
});

/**
 * @param slo a file in JSON or YAML, or its text if that begins with `{`; the default classes if left out
 * @throws UserError saying what is wrong
 */
export async function readServiceClasses(slo: string | undefined): Promise<ServiceClasses> {
  if (slo === undefined) return serviceClasses();
  const isText = slo.trimStart().startsWith('{');
  const text = isText ? slo : await readNamed('--slo', slo);
  try {
    return parseServiceClasses(text);
  } catch (error) {
    throw new UsageError(`--slo${isText ? '' : ` ${slo}`}: ${reasonOf(error)}`, { cause: error });
  }
}

/** @throws Error saying what is wrong */
export function parseServiceClasses(text: string): ServiceClasses {
  const checked = sloFile.safeParse(parse(text, { maxAliasCount: 0 }));
  if (!checked.success) throw new Error(explainZod(checked.error));
  const { default: usual, best, classes = {} } = checked.data;
  const given = Object.entries(classes).map(([each, fields]) => [each, toGiven(fields)] as const);
  return serviceClasses(Object.fromEntries(given), {
    ...(usual === undefined ? {} : { usual }),
    ...(best === undefined ? {} : { best }),
  });
}

/** Only what is given: the rest stays as it is by default. */
function toGiven(fields: z.output<typeof givenClass>): GivenClass {
  const { service_tier: tiers, ttft_ms, itl_ms, deadline_ms, priority, share } = fields;
  return {
    ...(tiers === undefined ? {} : { tiers }),
    ...(priority === undefined ? {} : { priority }),
    ...(ttft_ms === undefined ? {} : { ttftMs: ttft_ms }),
    ...(itl_ms === undefined ? {} : { itlMs: itl_ms }),
    ...(deadline_ms === undefined ? {} : { deadlineMs: deadline_ms }),
    ...(share === undefined ? {} : { share }),
  };
}
