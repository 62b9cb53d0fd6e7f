import './chat.css';

export default function ChatView() {
  return (
    <div class="view">
      <h1>A chat</h1>
      <p class="soft">Not there yet.</p>
    </div>
  );
}
