package once

// Queues returns for how many keys somebody waits or computes.
func (c *Cache[K, V]) Queues() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queues)
}
