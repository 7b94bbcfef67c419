<?php

use PHPUnit\Framework\TestCase;

final class StorageTest extends TestCase
{
    protected function setUp(): void
    {
        throw new RuntimeException("no storage");
    }

    public function testErrorsInSetUp(): void
    {
    }
}
