/** Tools, and whether one is to be called. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { boundedList } from './bounded-list.ts';

const name = z.string().min(1).max(LIMITS.toolNameCharacters);

export const tools = boundedList(
  z.looseObject({
    type: z.literal('function'),
    function: z.looseObject({
      name,
      description: z.string().max(LIMITS.toolDescriptionCharacters).nullish(),
      parameters: z.record(z.string(), z.unknown()).nullish(),
      strict: z.boolean().nullish(),
    }),
  }),
  LIMITS.tools,
).nullish();

const namedTool = z.looseObject({ type: z.literal('function'), function: z.looseObject({ name }) });

export const toolChoice = z
  .union(
    [
      z.enum(['none', 'auto', 'required']),
      namedTool,
      z.looseObject({
        type: z.literal('allowed_tools'),
        allowed_tools: z.looseObject({
          mode: z.enum(['auto', 'required']),
          tools: boundedList(namedTool, LIMITS.tools),
        }),
      }),
    ],
    { error: 'expected `none`, `auto`, `required`, a function to call, or `allowed_tools`' },
  )
  .nullish();

export type ToolChoice = NonNullable<z.infer<typeof toolChoice>>;
