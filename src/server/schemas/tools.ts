/** Tools, and whether one is to be called. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { boundedList } from './bounded-list.ts';

const name = z.string().min(1).max(LIMITS.toolNameCharacters);

const description = z.string().max(LIMITS.toolDescriptionCharacters).nullish();

const functionTool = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({
    name,
    description,
    parameters: z.record(z.string(), z.unknown()).nullish(),
    strict: z.boolean().nullish(),
  }),
});

export const functionTools = boundedList(functionTool, LIMITS.tools).nullish();

/** Grammar of a custom tool's text. */
export const textGrammar = z.looseObject({
  syntax: z.enum(['lark', 'regex']),
  definition: z.string().max(LIMITS.toolDescriptionCharacters),
});

const customTool = z.looseObject({
  type: z.literal('custom'),
  custom: z.looseObject({
    name,
    description,
    format: z
      .discriminatedUnion(
        'type',
        [
          z.looseObject({ type: z.literal('text') }),
          z.looseObject({ type: z.literal('grammar'), grammar: textGrammar }),
        ],
        { error: 'expected `text` or `grammar`' },
      )
      .nullish(),
  }),
});

export const tools = boundedList(
  z.discriminatedUnion('type', [functionTool, customTool], {
    error: 'expected a tool of type `function` or `custom`',
  }),
  LIMITS.tools,
).nullish();

export type Tool = z.infer<typeof functionTool | typeof customTool>;

const namedTool = z.discriminatedUnion(
  'type',
  [
    z.looseObject({ type: z.literal('function'), function: z.looseObject({ name }) }),
    z.looseObject({ type: z.literal('custom'), custom: z.looseObject({ name }) }),
  ],
  { error: 'expected a tool of type `function` or `custom`' },
);

export type NamedTool = z.infer<typeof namedTool>;

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
    { error: 'expected `none`, `auto`, `required`, a tool to call, or `allowed_tools`' },
  )
  .nullish();

export type ToolChoice = NonNullable<z.infer<typeof toolChoice>>;
