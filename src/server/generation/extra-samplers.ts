import type { DryPenalty, ExtraSamplers } from '../../engine/request.ts';
import { badRequest } from '../errors.ts';
import type { ServedModel } from '../runtimes.ts';
import type { ExtraSamplerFields } from '../schemas/extra-samplers.ts';

/** llama.cpp's. */
const DEFAULTS = {
  xtcThreshold: 0.1,
  dryBase: 1.75,
  dryAllowedLength: 2,
  dryBreakers: ['\n', ':', '"', '*'],
};

/**
 * The samplers that `fields` turn on; null where they turn on none.
 * @throws ApiError 400 for a breaker that no token contains
 */
export function toExtraSamplers(
  fields: ExtraSamplerFields,
  model: Partial<Pick<ServedModel, 'tokensWith'>>,
): ExtraSamplers | null {
  const { typical_p: typicalP, top_n_sigma: topNSigma } = fields;
  const { xtc_probability: probability, dynatemp_range: range } = fields;
  const dry = toDry(fields, model);
  const extra: ExtraSamplers = {
    ...(typicalP && typicalP < 1 ? { typicalP } : {}),
    ...(topNSigma && topNSigma > 0 ? { topNSigma } : {}),
    ...(probability
      ? { xtc: { probability, threshold: fields.xtc_threshold ?? DEFAULTS.xtcThreshold } }
      : {}),
    ...(range ? { dynamic: { range, exponent: fields.dynatemp_exponent ?? 1 } } : {}),
    ...(dry ? { dry } : {}),
  };
  return Object.keys(extra).length === 0 ? null : extra;
}

function toDry(
  fields: ExtraSamplerFields,
  { tokensWith = () => new Int32Array() }: Partial<Pick<ServedModel, 'tokensWith'>>,
): DryPenalty | null {
  const { dry_multiplier: multiplier, dry_penalty_last_n: lastTokens } = fields;
  if (!multiplier || lastTokens === 0) return null;
  const own = fields.dry_sequence_breakers ?? null;
  const breakers = new Set<number>();
  for (const [index, text] of (own ?? DEFAULTS.dryBreakers).entries()) {
    const ids = tokensWith(text);
    if (own !== null && ids.length === 0) {
      const field = `dry_sequence_breakers.${index}`;
      throw badRequest(`\`${field}\`: no token of this model contains it.`, field, 'invalid_value');
    }
    for (const id of ids) breakers.add(id);
  }
  return {
    multiplier,
    base: fields.dry_base ?? DEFAULTS.dryBase,
    allowedLength: fields.dry_allowed_length ?? DEFAULTS.dryAllowedLength,
    lastTokens: lastTokens ?? -1,
    breakers: Int32Array.from(breakers).sort(),
  };
}
