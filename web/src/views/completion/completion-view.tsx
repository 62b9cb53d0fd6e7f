import './completion.css';

export default function CompletionView() {
  return (
    <div class="view">
      <h1>Raw text with its tokens</h1>
      <p class="soft">Not there yet.</p>
    </div>
  );
}
