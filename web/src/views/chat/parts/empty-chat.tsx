import type { ChatSession } from '../model/chat-session.ts';

const STARTS = [
  'What is 23 + 45?',
  'Tell me a short story about a fox.',
  'Write a function that reverses a string, in Python.',
  'Explain continuous batching in three sentences.',
];

export function EmptyChat({ session }: { readonly session: ChatSession }) {
  return (
    <div class="empty">
      <h2>Ask something</h2>
      <p class="soft">It is answered by this server, and kept in this browser alone.</p>
      <div class="starts">
        {STARTS.map((text) => (
          <button key={text} onClick={() => void session.send(text, [])}>
            {text}
          </button>
        ))}
      </div>
    </div>
  );
}
