/** Angles of rotary embedding, as config.json of these families says them. */
import { z } from 'zod';
import type { EncoderRope } from '../encoder-shape.ts';
import { theta } from './sizes.ts';

const ONLY = 'expected rotary embedding without scaling';

/** As Transformers 5 writes it. */
export const ropeParameters = z.looseObject({
  rope_theta: theta.nullish(),
  rope_type: z.literal('default', ONLY).nullish(),
});

/** By kinds of layers. */
export const layerRopes = z.looseObject({
  full_attention: ropeParameters.nullish(),
  sliding_attention: ropeParameters.nullish(),
});

export const noScaling = z.null(ONLY).optional();

export const layerTypes = z.array(z.enum(['full_attention', 'sliding_attention']));

export function plainRope(ropeTheta: number): EncoderRope {
  return { ropeTheta, ropeScaling: { type: 'default' } };
}
