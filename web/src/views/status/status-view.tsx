import './status.css';

export default function StatusView() {
  return (
    <div class="view">
      <h1>Models, throughput and latency</h1>
      <p class="soft">Not there yet.</p>
    </div>
  );
}
