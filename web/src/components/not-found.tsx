import { ROOT } from '../root.ts';

export function NotFound() {
  return (
    <div class="empty">
      <h1>There is no such page</h1>
      <p>
        <a href={`${ROOT}/`}>To the chat</a>
      </p>
    </div>
  );
}
