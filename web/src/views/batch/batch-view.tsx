import './batch.css';

export default function BatchView() {
  return (
    <div class="view">
      <h1>The running batch, live</h1>
      <p class="soft">Not there yet.</p>
    </div>
  );
}
