export function NotFound() {
  return (
    <div class="empty">
      <h1>There is no such page</h1>
      <p>
        <a href="/">To the chat</a>
      </p>
    </div>
  );
}
