import type { ChatSession } from '../model/chat-session.ts';
import { changedSettings } from '../model/changed-settings.ts';

const STARTS = [
  'What is 23 + 45?',
  'Tell me a short story about a fox.',
  'Write a function that reverses a string, in Python.',
  'Explain continuous batching in three sentences.',
];

export function EmptyChat({ session }: { readonly session: ChatSession }) {
  const changed = changedSettings(session.chat.value.settings);
  return (
    <div class="empty">
      <h2>Ask something</h2>
      <p class="soft">The answer comes from this server, and is kept in this browser alone.</p>
      <div class="starts">
        {STARTS.map((text) => (
          <button key={text} onClick={() => void session.send(text, [])}>
            {text}
          </button>
        ))}
      </div>
      {changed.length > 0 && (
        <p class="soft small set-note">
          Set for this chat, as for the last one: {changed.join(', ')}.{' '}
          <button type="button" class="link" onClick={() => session.resetSettings()}>
            Reset
          </button>
        </p>
      )}
    </div>
  );
}
