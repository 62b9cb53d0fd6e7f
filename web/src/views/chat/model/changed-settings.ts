import type { ChatSettings } from './types.ts';

/** Names of settings that are not as they are by default, as the page calls them. */
export function changedSettings(settings: ChatSettings): string[] {
  const changed = Object.keys(settings.parameters);
  if (settings.system.trim() !== '') changed.unshift('system prompt');
  if (settings.output !== 'text') changed.push('JSON');
  if (settings.tools.trim() !== '') changed.push('tools');
  if (settings.logprobs) changed.push('token alternatives');
  if (settings.alsoModels.length > 0) changed.push('side by side');
  return changed;
}
