import './bench.css';

export default function BenchView() {
  return (
    <div class="view">
      <h1>A load test of this server</h1>
      <p class="soft">Not there yet.</p>
    </div>
  );
}
