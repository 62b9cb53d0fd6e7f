import { useEffect, useRef, useState } from 'preact/hooks';
import type { ChatSession } from '../model/chat-session.ts';

/** Says to those who hear the page that an answer is written, and how it ended. */
export function Announcer({ session }: { readonly session: ChatSession }) {
  const [text, setText] = useState('');
  const isRunning = session.isRunning.value;
  const wasRunning = useRef(isRunning);
  useEffect(() => {
    if (isRunning) setText('The answer is being written.');
    else if (wasRunning.current) setText(outcomeOf(session));
    wasRunning.current = isRunning;
  }, [isRunning]);
  return (
    <p class="hidden-text announcer" role="status">
      {text}
    </p>
  );
}

function outcomeOf(session: ChatSession): string {
  const last = session.path().at(-1);
  if (last?.state === 'failed') return `The answer failed: ${last.error ?? ''}`;
  if (last?.state === 'stopped') return 'The answer was stopped.';
  if ((last?.toolCalls ?? []).length > 0) return 'The answer is finished: it calls tools.';
  const words = last?.content.trim().split(/\s+/).length ?? 0;
  return `The answer is finished: ${words} ${words === 1 ? 'word' : 'words'}.`;
}
