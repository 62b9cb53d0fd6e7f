// A process that computes and never comes back to its event loop.
process.send?.('busy', () => {
  for (;;);
});
