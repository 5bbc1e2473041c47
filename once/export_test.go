package once

// Queues returns for how many keys somebody waits or computes.
func (c *Cache[K, V]) Queues() int {
	c.queues.mu.Lock()
	defer c.queues.mu.Unlock()
	return len(c.queues.known)
}
