<?php

use PHPUnit\Framework\TestCase;

final class OpenStorageTest extends TestCase
{
    protected function tearDown(): void
    {
        throw new RuntimeException("storage is still open");
    }

    public function testErrorsInTearDown(): void
    {
        $this->assertTrue(true);
    }
}
