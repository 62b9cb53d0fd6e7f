/** All targets by name; what one needs is loaded when it is asked for. */
import type { Target } from './target.ts';

const SERVER_NAMES = ['bodies', 'heads', 'frames'];
const VISION_NAMES = ['vision-config', 'mmproj'];

export const TARGET_NAMES: readonly string[] = [
  ...SERVER_NAMES,
  ...['gguf', 'safetensors', 'onnx', 'model-config', 'settings', 'api-keys', 'chat-templates'],
  ...['grammars', 'answers', 'tensors', 'image-heads', 'grpc'],
  ...VISION_NAMES,
  'events',
];

/** @throws Error for a name that is none of TARGET_NAMES */
export async function targetOf(name: string): Promise<Target> {
  const targets = await targetsBeside(name);
  const target = targets.find((each) => each.name === name);
  if (target === undefined)
    throw new Error(`there is no target ${name}; there are ${TARGET_NAMES.join(', ')}`);
  return target;
}

async function targetsBeside(name: string): Promise<readonly Target[]> {
  if (SERVER_NAMES.includes(name)) return (await import('./server-targets.ts')).SERVER_TARGETS;
  if (VISION_NAMES.includes(name)) return (await import('./vision-targets.ts')).VISION_TARGETS;
  if (name === 'events') return (await import('./event-targets.ts')).EVENT_TARGETS;
  return (await import('./reader-targets.ts')).READER_TARGETS;
}
