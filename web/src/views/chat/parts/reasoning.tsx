import { Markdown } from '../../../components/markdown/markdown.tsx';
import type { Message } from '../model/types.ts';

/** Folded; while the model thinks, its last words are the fold's title. */
export function Reasoning({ message }: { readonly message: Message }) {
  const { content, reasoning, state, stats } = message;
  if (reasoning === undefined) return null;
  const isThinking = state === 'running' && content === '';
  const seconds = ((stats?.thinkingMs ?? 0) / 1000).toFixed(1);
  return (
    <details class="reasoning">
      <summary>
        {isThinking ? 'Thinking' : 'Thought'} for {seconds} s
        {isThinking && <span class="last-words">{reasoning.trim().split('\n').at(-1)}</span>}
      </summary>
      <Markdown text={reasoning} />
    </details>
  );
}
